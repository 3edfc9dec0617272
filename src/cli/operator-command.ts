// The base of every command that asks a gateway something: its flags, the connection, the token, the errors.
import type { ArgsDef, ParsedArgs } from 'citty'
import { type AnyOperation, buildOperationRequest, type OperationInput, type OperationOutput } from '../api/resource.ts'
import { CommandError, type ExitCode, exitCodes } from './command-error.ts'
import { defineCommand, type Node } from './command-line.ts'
import { configArg } from './load-config.ts'
import { jsonArg, printAnswer, printableLine, withProgress } from './output.ts'
import { connectToGateway, type GatewayAnswer, type ReachedGateway } from './reach-gateway.ts'
import { replaceRoutesByCommands } from './resources.ts'

const operatorArgs = {
  ...jsonArg,
  url: { type: 'string', description: 'Address of a gateway (default: the one on this data folder)', valueHint: 'url' },
  token: {
    type: 'string',
    description:
      'Token for this call; other users may see it in the list of processes (better: the next, or PARLEY_TOKEN)',
    valueHint: 'token',
  },
  'token-file': { type: 'string', description: 'File that holds the token for this call', valueHint: 'file' },
  'allow-http': { type: 'boolean', description: 'Send it unencrypted to an address of another machine' },
  ...configArg,
} as const

/** Asks for an operation of the table and answers its JSON; a refusal becomes an error with the right exit code. */
export type AskOperation = <Operation extends AnyOperation>(
  operation: Operation,
  input: OperationInput<Operation>,
  more?: Pick<CallOptions, 'timeoutMs'>,
) => Promise<OperationOutput<Operation>>

/** The same by method and path. */
export type CallGateway = <T>(method: 'GET' | 'POST' | 'DELETE', path: string, more?: CallOptions) => Promise<T>

/** `timeoutMs`: a minute unless said otherwise. */
export type CallOptions = { readonly body?: object; readonly timeoutMs?: number }

export type OperatorContext<Args extends ArgsDef> = {
  readonly args: ParsedArgs<Args & typeof operatorArgs>
  readonly ask: AskOperation
  readonly callGateway: CallGateway
  /** JSON when it was asked for, else the text. */
  readonly show: (value: unknown, text: string) => void
  /** True when no gateway runs: what was changed waits for one. */
  readonly isOffline: boolean
}

export type OperatorCommand<Args extends ArgsDef> = {
  readonly name: string
  readonly description: string
  readonly examples: readonly string[]
  readonly args: Args
  /** Before anything is asked: checks what the flags say, asks whether to go on. */
  readonly before?: (args: ParsedArgs<Args & typeof operatorArgs>) => Promise<void> | void
  /** True: it was answered here, and no gateway is asked. */
  readonly withoutGateway?: (args: ParsedArgs<Args & typeof operatorArgs>) => Promise<boolean>
  readonly run: (context: OperatorContext<Args>) => Promise<void>
}

export function operatorCommand<const Args extends ArgsDef>(given: OperatorCommand<Args>): Node {
  const { name, description, examples, args, before, withoutGateway, run } = given
  return defineCommand({
    name,
    description,
    examples,
    args: { ...args, ...operatorArgs },
    async run(parsed) {
      // The same definitions, put together above; the compiler cannot see through the spread.
      const all = parsed as unknown as ParsedArgs<Args & typeof operatorArgs> & ParsedArgs<typeof operatorArgs>
      await before?.(all)
      if ((await withoutGateway?.(all)) === true) return
      const where = {
        url: all.url,
        token: all.token,
        tokenFile: all['token-file'],
        allowHttp: all['allow-http'],
        config: all.config,
      }
      const reached = await withProgress('looking for the gateway', () => connectToGateway(where))
      try {
        const callGateway: CallGateway = (method, path, more = {}) => sendToGatewayApi(reached, method, path, more)
        await run({
          args: all,
          callGateway,
          ask(operation, input, more) {
            const {
              method: verb,
              path,
              body,
            } = buildOperationRequest(operation, input as Readonly<Record<string, unknown>>)
            return callGateway(verb, path, { ...more, ...(body === undefined ? {} : { body }) })
          },
          show: (value, text) => printAnswer(all.json, value, text),
          isOffline: reached.via === 'offline',
        })
      } finally {
        await reached.close()
      }
    },
  })
}

async function sendToGatewayApi<T>(
  reached: ReachedGateway,
  method: string,
  path: string,
  { body, timeoutMs = 60_000 }: CallOptions,
): Promise<T> {
  const headers = {
    accept: 'application/json',
    ...(reached.token === undefined ? {} : { authorization: `Bearer ${reached.token.reveal()}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const text = body === undefined ? {} : { body: JSON.stringify(body) }
  const answer = await withProgress('waiting for the gateway', () =>
    reached.send({ method, path, headers, timeoutMs, ...text }),
  )
  const value = parseJsonBody(answer)
  if (answer.status >= 400 || value === undefined) throw toCommandError(answer, value, reached.via)
  // The routes of this version answer with the shapes its commands name.
  return value as T
}

/** Not a status, a meaning: what a script can do about it. */
const exitCodeFor: Readonly<Record<number, ExitCode>> = {
  400: exitCodes.usage,
  404: exitCodes.notFound,
  409: exitCodes.notFound,
  410: exitCodes.notFound,
}

function toCommandError(answer: GatewayAnswer, body: unknown, via: ReachedGateway['via']): CommandError {
  const error = typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined
  const readErrorField = (name: string): string => {
    const value = typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined
    return typeof value === 'string' ? value : ''
  }
  const remedy =
    readErrorField('remedy') || `the address answered ${answer.status} and is perhaps no Parley gateway; check --url`
  // Without a gateway it is the database that went away while it was asked.
  const isAway = via === 'offline' && answer.status === 503
  const exitCode = isAway ? exitCodes.unreachable : (exitCodeFor[answer.status] ?? exitCodes.failed)
  // It may quote what people sent.
  return new CommandError(exitCode, readErrorField('code') || 'failed', printableLine(replaceRoutesByCommands(remedy)))
}

function parseJsonBody({ body }: GatewayAnswer): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
