// Exit codes that scripts rely on, and the error that carries one.

import { isGatewayError } from '../lib/errors.ts'

export const exitCodes = { ok: 0, failed: 1, usage: 2, notFound: 3, unreachable: 4 } as const

export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** For the end of every help text. */
export const exitCodeHelp = [
  '0 done',
  '1 failed; the message says what to do',
  '2 wrong usage: unknown command, flag or value',
  '3 nothing there by that id, or nothing to do',
  '4 no gateway and no database to be reached',
] as const

/** What the driver and the system say where no database answered at all, or none that accepts connections yet. */
const noAnswer =
  /^(E(CONNREFUSED|CONNRESET|HOSTUNREACH|NETUNREACH|TIMEDOUT|NOTFOUND|AI_AGAIN|NOENT)|CONNECT_TIMEOUT|CONNECTION_(CLOSED|ENDED|DESTROYED)|57P03)$/

export function isDatabaseUnavailable(error: unknown): boolean {
  return isGatewayError(error, 'storage_unavailable') && noAnswer.test(String(error.details['sqlstate']))
}

/** `message` says what is wrong and what to do, in one line. */
export class CommandError extends Error {
  readonly exitCode: ExitCode
  /** The gateway's word for it, or ours. */
  readonly code: string

  constructor(exitCode: ExitCode, code: string, message: string) {
    super(message)
    this.name = 'CommandError'
    this.exitCode = exitCode
    this.code = code
  }
}

export function usageError(message: string): CommandError {
  return new CommandError(exitCodes.usage, 'usage', message)
}
