// Fetches a document of this gateway at its public URL the way others do: bounded, and reported in our own words.

import { type ProbeProblem, wrongAnswerProblem } from '../contract/index.ts'
import { unreachableAddressProblem } from '../contract/probe.ts'
import { parseBoundedJson } from './json.ts'
import type { Fields } from './json-value.ts'
import { readStream } from './read-body.ts'

export type OwnDocument =
  | { readonly kind: 'read'; readonly json: Fields }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'problem'; readonly problem: ProbeProblem }

export type OwnDocumentRequest = {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

const timeoutMs = 5_000
const maxBytes = 1024 * 1024

/** For addresses that the operator wrote down. No redirect is followed; what stands after a question mark is not shown. */
export async function fetchOwnPublicDocument(
  fetch: typeof globalThis.fetch,
  url: string,
  { headers, signal }: OwnDocumentRequest,
): Promise<OwnDocument> {
  const [shown = url] = url.split('?')
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(url, { headers, redirect: 'manual', signal: AbortSignal.any([signal, late]) })
    const { status, body } = response
    const location = response.headers.get('location')
    const bytes = status === 200 && body !== null ? await readStream(body, maxBytes) : undefined
    if (status !== 200) await body?.cancel().catch(() => undefined)
    if (status >= 300 && status < 400 && location !== null && URL.canParse(location, url))
      return { kind: 'redirect', to: new URL(location, url).href }
    if (status !== 200) return { kind: 'problem', problem: wrongAnswerProblem(`${shown} answered ${status}`) }
    const read = bytes === undefined ? undefined : parseBoundedJson(bytes)
    return read?.ok === true
      ? { kind: 'read', json: read.value }
      : { kind: 'problem', problem: wrongAnswerProblem(`${shown} answered with something else`) }
  } catch (error) {
    const why = late.aborted || signal.aborted ? 'no answer' : networkErrorCode(error)
    return { kind: 'problem', problem: unreachableAddressProblem(`${shown} cannot be reached (${why})`) }
  }
}

/** A code of the network or of TLS; the words of an error may quote anything. */
function networkErrorCode(error: unknown): string {
  const codes = [error, error instanceof Error ? error.cause : undefined].map((each) =>
    typeof each === 'object' && each !== null && 'code' in each ? each.code : undefined,
  )
  const found = codes.find((code) => typeof code === 'string' && /^[A-Z][A-Z0-9_]{2,60}$/.test(code))
  return typeof found === 'string' ? found : 'network'
}
