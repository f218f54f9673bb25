// Package torture runs Sonde against programs for minutes or hours, while Sonde, the programs and the machine misbehave:
// see the comment of TestTorture. It needs root for other users, chroots and full disks.
//
//	make torture [TIME=10m] [SEED=N] [LIFE=N]
//	make torture CYCLES=10000
package torture
