package session

import "github.com/sonde-jvm/sonde/agent"

// Ways in which tasks go from thread to thread, for people.
const (
	byFutures     = "what is submitted to an executor"
	byPools       = "what a thread pool executes"
	byForking     = "tasks of fork-join pools"
	byCompletion  = "stages of a CompletableFuture"
	byVirtual     = "virtual threads"
	tryFire       = "(I)Ljava/util/concurrent/CompletableFuture;"
	runnable      = "(Ljava/lang/Runnable;)V"
	concurrent    = "java/util/concurrent/"
	completable   = concurrent + "CompletableFuture$"
	newVirtual    = "(Ljava/util/concurrent/Executor;Ljava/lang/String;ILjava/lang/Runnable;)Ljava/lang/Thread;"
	firstVirtual  = 19 // then still a preview
	firstComposed = 12 // exceptionallyCompose
)

// handOffMethods are the methods of the JDK through which tasks go from thread to
// thread (docs/formats/arena.md, Handing on). Where tasks are made of which each is one
// piece of work, those carry the context; where a pool takes any object, that one. A
// ForkJoinTask's doExec gives an int in 17 and nothing in 25.
var handOffMethods = []handOffMethod{
	{way: byFutures, class: concurrent + "FutureTask", name: "<init>", template: agent.CarryTemplate},
	{way: byFutures, class: concurrent + "FutureTask", name: "run", descriptor: "()V", template: agent.ResumeTemplate},
	{way: byFutures, class: concurrent + "FutureTask", name: "runAndReset", descriptor: "()Z", template: agent.AgainTemplate},

	{way: byForking, class: concurrent + "ForkJoinTask", name: "<init>", descriptor: "()V", template: agent.CarryTemplate},
	{way: byForking, class: concurrent + "ForkJoinTask", name: "doExec", template: agent.ResumeTemplate},

	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "execute", descriptor: runnable, template: agent.SubmitTemplate},
	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "reject", descriptor: runnable, template: agent.WithdrawTemplate},
	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "runWorker", template: agent.WorkTemplate},
	{way: byPools, class: concurrent + "ThreadPoolExecutor", name: "getTask", descriptor: "()Ljava/lang/Runnable;", template: agent.NextTemplate},

	{way: byVirtual, class: "java/lang/ThreadBuilders", name: "newVirtualThread", descriptor: newVirtual, since: firstVirtual, template: agent.MadeTemplate},

	// Executors of other kinds run these by themselves.
	{way: byCompletion, class: completable + "AsyncSupply", name: "run", descriptor: "()V", template: agent.ResumeTemplate},
	{way: byCompletion, class: completable + "AsyncRun", name: "run", descriptor: "()V", template: agent.ResumeTemplate},

	// All kinds of completions with a function of the program.
	{way: byCompletion, class: completable + "UniApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniWhenComplete", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniHandle", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniExceptionally", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniComposeExceptionally", name: "tryFire", descriptor: tryFire, since: firstComposed, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "UniCompose", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "BiApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "BiAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "BiRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "OrApply", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "OrAccept", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
	{way: byCompletion, class: completable + "OrRun", name: "tryFire", descriptor: tryFire, template: agent.FireTemplate},
}
