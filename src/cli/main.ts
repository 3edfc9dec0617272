// The program behind the command `parley`.
import { runParley } from './commands.ts'

process.exitCode = await runParley(process.argv.slice(2))
