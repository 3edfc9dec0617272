// The program behind the command `parley`, and behind the processes it starts for itself.
import { runParley } from './commands.ts'
import { isSuspectTurnProcess, runSuspectTurnProcess } from './start.ts'

// What a command or the gateway writes is for its owner. Root's PostgreSQL runs as another user and sets its modes itself.
if (process.getuid?.() !== 0) process.umask(0o077)
const words = process.argv.slice(2)
// At once: what an agent left running would keep a process alive that has nothing to do.
if (isSuspectTurnProcess(words)) process.exit(await runSuspectTurnProcess(words))
process.exitCode = await runParley(words)
