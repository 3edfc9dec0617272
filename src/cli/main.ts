// The program behind the command `parley`, and behind the processes it starts for itself.
import { runParley } from './commands.ts'
import { isForSuspects, runSuspectProcess } from './suspects.ts'

const words = process.argv.slice(2)
// At once: what an agent left running would keep a process alive that has nothing to do.
if (isForSuspects(words)) process.exit(await runSuspectProcess(words))
process.exitCode = await runParley(words)
