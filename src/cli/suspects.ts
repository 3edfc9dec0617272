// The process that `parley start` starts beside itself for turns on which a process died: the same program, the same configuration.
import { type ChildProcess, fork } from 'node:child_process'
import { logCrashes } from '../node/last-words.ts'
import { createNodeLog, errorsShown } from '../node/log.ts'
import { runSuspects } from '../node/run-suspects.ts'
import { exitCodes } from './exit.ts'
import { describeProblem, loadConfigFromDisk } from './load.ts'
import { printRemark } from './output.ts'

/** No command of its own: people have no use for it. */
const suspectsWord = 'internal:suspects'

type StartArguments = { readonly config?: string | undefined; readonly logLevel?: string | undefined }

export function forkSuspects(given: StartArguments): ChildProcess {
  const [, program = ''] = process.argv
  // Set by a launcher that must not outlive its program; this process ends in order when its gateway is gone.
  const { PARLEY_RELAUNCHED: _launcher, ...env } = process.env
  return fork(program, [suspectsWord, JSON.stringify(given)], {
    env,
    // One debugger cannot have both.
    execArgv: process.execArgv.filter((flag) => !flag.startsWith('--inspect')),
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
}

export function isSuspectProcess([first]: readonly string[]): boolean {
  return first === suspectsWord
}

export async function runSuspectProcess([, given = '{}']: readonly string[]): Promise<number> {
  try {
    // Written by forkSuspects.
    const { config: path, logLevel } = JSON.parse(given) as StartArguments
    await runSuspects(async () => {
      const config = await loadConfigFromDisk(path, { PARLEY_LOG_LEVEL: logLevel })
      const log = createNodeLog(config.logLevel, undefined, errorsShown(config.logErrors))
      logCrashes(log)
      return { config, log }
    })
    return exitCodes.ok
  } catch (error) {
    printRemark(describeProblem(error).message)
    return exitCodes.failed
  }
}
