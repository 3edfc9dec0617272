// One request to a server from outside, as another server would make it: bounded, and told in our words.
import { parseBoundedJson, readBody } from '../../../src/lib/index.ts'

export type ProbeResponse = {
  /** Undefined: no answer. */
  readonly status: number | undefined
  /** Small letters, without parameters. */
  readonly type: string
  readonly headers: Headers
  readonly json: Fields | undefined
}

export type Fields = { readonly [key: string]: unknown }
export type ProbeFetch = (url: string, accept: string, body?: string) => Promise<ProbeResponse>

const timeoutMs = 10_000
const maxBytes = 1024 * 1024
const nobody: ProbeResponse = { status: undefined, type: '', headers: new Headers(), json: undefined }

export const activityJson = 'application/activity+json'
export const jrdJson = 'application/jrd+json'

export function createProbeFetch(fetch: typeof globalThis.fetch): ProbeFetch {
  return async (url, accept, body) => {
    const sent = body === undefined ? {} : { method: 'POST', body }
    const headers = { accept, ...(body === undefined ? {} : { 'content-type': activityJson }) }
    try {
      const response = await fetch(url, {
        headers,
        redirect: 'follow',
        signal: AbortSignal.timeout(timeoutMs),
        ...sent,
      })
      const [type = ''] = (response.headers.get('content-type') ?? '').split(';')
      const json = type.includes('json') ? await readBoundedJson(response) : undefined
      if (json === undefined) await response.body?.cancel().catch(() => undefined)
      return { status: response.status, type: type.trim().toLowerCase(), headers: response.headers, json }
    } catch {
      return nobody
    }
  }
}

async function readBoundedJson(response: Response): Promise<Fields | undefined> {
  // What an answer declares is its length before it is unpacked: every byte is counted.
  const unpacked = { headers: new Headers(), body: response.body, arrayBuffer: () => response.arrayBuffer() }
  const bytes = await readBody(unpacked, maxBytes)
  const read = bytes === undefined ? undefined : parseBoundedJson(bytes)
  return read?.ok === true ? read.value : undefined
}

/** What a server said, for people: never more than its number and its kind. */
export function describeResponse({ status, type }: ProbeResponse): string {
  if (status === undefined) return 'no answer'
  const kind = type.replace(/[^a-z0-9+./-]/g, ' ').slice(0, 60)
  return kind === '' ? `status ${status}` : `status ${status}, ${kind}`
}
