package main

import "strings"

const ptxHead = `.version 6.0
.target sm_50
.address_size 64
`

const ptxWork = `
.visible .entry work(
	.param .u64 .ptr .global .align 8 work_stamps,
	.param .u32 work_at,
	.param .u64 work_ns
)
{
	.reg .pred %p;
	.reg .b32 %at;
	.reg .b64 %stamps, %slot, %ns, %began, %now, %spent;

	ld.param.u64 %stamps, [work_stamps];
	ld.param.u32 %at, [work_at];
	ld.param.u64 %ns, [work_ns];
	cvta.to.global.u64 %stamps, %stamps;
	mul.wide.u32 %slot, %at, 8;
	add.u64 %slot, %slot, %stamps;
	mov.u64 %began, %globaltimer;
	st.global.u64 [%slot], %began;
WORK_SPIN:
	mov.u64 %now, %globaltimer;
	sub.u64 %spent, %now, %began;
	setp.lt.u64 %p, %spent, %ns;
	@%p bra WORK_SPIN;
	st.global.u64 [%slot+8], %now;
	ret;
}
`

const ptxStamp = `
.visible .entry stamp(
	.param .u64 .ptr .global .align 8 stamp_stamps,
	.param .u32 stamp_at
)
{
	.reg .pred %p;
	.reg .b32 %at;
	.reg .b64 %stamps, %slot, %old, %now, %next, %step;

	ld.param.u64 %stamps, [stamp_stamps];
	ld.param.u32 %at, [stamp_at];
	cvta.to.global.u64 %stamps, %stamps;
	mul.wide.u32 %slot, %at, 8;
	add.u64 %slot, %slot, %stamps;
	mov.u64 %old, %globaltimer;
STAMP_TURN:
	mov.u64 %now, %globaltimer;
	setp.eq.u64 %p, %now, %old;
	@%p bra STAMP_TURN;
STAMP_NEXT:
	mov.u64 %next, %globaltimer;
	setp.eq.u64 %p, %next, %now;
	@%p bra STAMP_NEXT;
	sub.u64 %step, %next, %now;
	st.global.u64 [%slot], %now;
	st.global.u64 [%slot+8], %step;
	ret;
}
`

func ptxFill() string {
	return ptxOverData("fill", "\t.param .u32 NAME_seed,\n", `	ld.param.u32 %seed, [NAME_seed];
	mov.u32 %factor, 0x9e3779b1;
`, `	mad.lo.u32 %v, %i, %factor, %seed;
`)
}

func ptxUse() string {
	return ptxOverData("use", "", "", `	ld.global.u32 %v, [%addr];
	add.u32 %v, %v, 1;
`)
}

// ptxOverData is a kernel of one block that makes a %v for each %i below n, and
// stores it at %addr, which is data[i]. Between the two barriers all of the block
// works; what is outside of them belongs to the first thread.
func ptxOverData(name, params, load, body string) string {
	return strings.NewReplacer("NAME", name, "LABEL", strings.ToUpper(name)).Replace(`
.visible .entry NAME(
	.param .u64 .ptr .global .align 4 NAME_data,
	.param .u32 NAME_n,
` + params + `	.param .u64 .ptr .global .align 8 NAME_stamps,
	.param .u32 NAME_at,
	.param .u64 NAME_ns
)
{
	.reg .pred %p, %first;
	.reg .b32 %n, %seed, %factor, %at, %i, %v, %thread, %threads;
	.reg .b64 %data, %addr, %stamps, %slot, %ns, %began, %now, %spent;

	ld.param.u64 %data, [NAME_data];
	ld.param.u32 %n, [NAME_n];
` + load + `	ld.param.u64 %stamps, [NAME_stamps];
	ld.param.u32 %at, [NAME_at];
	ld.param.u64 %ns, [NAME_ns];
	cvta.to.global.u64 %data, %data;
	cvta.to.global.u64 %stamps, %stamps;
	mul.wide.u32 %slot, %at, 8;
	add.u64 %slot, %slot, %stamps;
	mov.u32 %thread, %tid.x;
	mov.u32 %threads, %ntid.x;
	setp.eq.u32 %first, %thread, 0;
	mov.u64 %began, %globaltimer;
	@%first st.global.u64 [%slot], %began;
	bar.sync 0;
	mov.u32 %i, %thread;
LABEL_NEXT:
	setp.ge.u32 %p, %i, %n;
	@%p bra LABEL_ALL;
	mul.wide.u32 %addr, %i, 4;
	add.u64 %addr, %addr, %data;
` + body + `	st.global.u32 [%addr], %v;
	add.u32 %i, %i, %threads;
	bra LABEL_NEXT;
LABEL_ALL:
	bar.sync 0;
	@!%first bra LABEL_END;
LABEL_SPIN:
	mov.u64 %now, %globaltimer;
	sub.u64 %spent, %now, %began;
	setp.lt.u64 %p, %spent, %ns;
	@%p bra LABEL_SPIN;
	st.global.u64 [%slot+8], %now;
LABEL_END:
	ret;
}
`)
}
