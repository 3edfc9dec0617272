// Errors as problem details (RFC 9457): what went wrong in words, and beside them our code, what to do, and the trace to ask by.
// `error` says the same once more, as it did before there were problem details.
import type { TransportAnswer } from '../contract/index.ts'

/** Names what was rejected, for `parley explain`. */
export const traceHeader = 'x-parley-trace'
const problemType = 'application/problem+json'

export type ProblemFacts = {
  readonly code: string
  readonly remedy: string
  readonly message?: string | undefined
  readonly trace?: string | undefined
}

/** What a status means, the same for every occurrence; where to read about a code is its type. */
const titles: Readonly<Record<number, string>> = {
  400: 'The request does not fit',
  401: 'Not authenticated',
  403: 'Not allowed',
  404: 'Not found',
  408: 'Too slow',
  409: 'In conflict with how things stand',
  410: 'Erased',
  413: 'Too large',
  415: 'Unsupported media type',
  416: 'Range not satisfiable',
  422: 'Cannot be stored',
  429: 'Too many requests',
  431: 'Header fields too large',
  500: 'The gateway failed',
  501: 'Not set up here',
  503: 'Not available right now',
}

export function problemAnswer(status: number, trouble: ProblemFacts, more: object = {}): TransportAnswer {
  const { trace } = trouble
  const headers = { 'content-type': problemType, ...(trace === undefined ? {} : { [traceHeader]: trace }) }
  return { status, headers, body: JSON.stringify({ ...problemBody(status, trouble), ...more }) }
}

function problemBody(status: number, { code, remedy, message, trace }: ProblemFacts): object {
  const asked = trace === undefined ? {} : { trace }
  return {
    type: `/docs/api#${code}`,
    title: titles[status] ?? 'It did not work',
    status,
    detail: message === undefined ? remedy : `${message}; ${remedy}`,
    code,
    remedy,
    ...asked,
    error: { code, ...(message === undefined ? {} : { message }), remedy, ...asked },
  }
}

/** Errors of ours that another module wrote, as problems; whatever else an answer holds stays as it is. */
export function asProblem(answer: TransportAnswer): TransportAnswer {
  const { status, headers = {}, body = '' } = answer
  if (status < 400 || !(headers['content-type'] ?? '').startsWith('application/json')) return answer
  const { error, ...more } = JSON.parse(body) as { readonly error?: Partial<ProblemFacts> }
  if (typeof error?.code !== 'string' || typeof error.remedy !== 'string') return answer
  const { code, remedy, message, trace } = error
  const problem = problemAnswer(status, { code, remedy, message, trace }, more)
  return { ...problem, headers: { ...headers, ...problem.headers } }
}
