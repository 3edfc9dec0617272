// The crash log, what no code caught: in a log that is kept said without its message, which may quote anything, instead of by Node, which prints all
// of it.
import { describeError, errorLogFields, type Log } from '../contract/index.ts'

export function logCrashes(log: Log): void {
  // An agent that forgets a promise must not take the gateway down with it; its turn ends by answer or by deadline.
  process.on('unhandledRejection', (reason) =>
    log.error('promise_unhandled', errorLogFields(reason, 'internal'), describeError(reason)),
  )
  process.on('uncaughtException', (error) => {
    log.error('process_crashed', errorLogFields(error, 'internal'), describeError(error))
    // The state this left behind is unknown. What is stored is safe, and the next start goes on from there.
    process.exit(70)
  })
}
