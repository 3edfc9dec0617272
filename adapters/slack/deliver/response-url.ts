// Answers to the response URL of a command or a button. It needs no token, and none goes there.
import type { ChannelDeps, TtlStore } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'
import type { MessagePayload } from '../wire.ts'

/** `gone`: it has run out, or was used five times; nothing was shown. */
export type ResponseUrlOutcome = 'shown' | 'gone' | 'lost'

export type SendToResponseUrl = (
  key: string,
  { text, blocks }: Pick<MessagePayload, 'text' | 'blocks'>,
  how: { readonly isReplacing: boolean },
) => Promise<ResponseUrlOutcome>

export function createResponseUrlSender(
  { fetch: send }: Pick<ChannelDeps, 'fetch'>,
  notes: TtlStore | undefined,
  timeoutMs: number,
): SendToResponseUrl {
  return async (key, { text, blocks }, { isReplacing }) => {
    const url = await readResponseUrl(notes, key)
    if (url === undefined) return 'gone'
    const shown = isReplacing ? { replace_original: true } : { replace_original: false, response_type: 'ephemeral' }
    const body = JSON.stringify({ ...shown, text, ...(blocks === undefined ? {} : { blocks }) })
    const headers = { 'content-type': 'application/json; charset=utf-8' }
    const signal = AbortSignal.timeout(timeoutMs)
    try {
      const response = await send(url, { method: 'POST', headers, body, redirect: 'manual', signal })
      await response.body?.cancel().catch(() => undefined)
      if (response.status === 200) return 'shown'
      return response.status >= 500 || response.status === 408 ? 'lost' : 'gone'
    } catch {
      return 'lost'
    }
  }
}

// A response URL is good for half an hour and five answers. It is a password: kept sealed, by a name of our own, and only while
// it is good.

const family = 'response'
/** A little less than Slack's own half hour. */
const lifeMs = 29 * 60_000

/** The name it is kept by. Undefined: there is none, it is not Slack's, or there is no key to seal it with. */
export async function storeResponseUrl(
  notes: TtlStore | undefined,
  origins: readonly string[],
  url: string,
): Promise<string | undefined> {
  if (notes === undefined || url.length > 2048) return undefined
  if (!URL.canParse(url) || !origins.includes(new URL(url).origin)) return undefined
  const key = (await sha256Hex(url)).slice(0, 32)
  const isKept = await notes.keep({ family, key, value: { url }, lifeMs, isSecret: true }).catch(() => undefined)
  return isKept === undefined ? undefined : key
}

async function readResponseUrl(notes: TtlStore | undefined, key: string): Promise<string | undefined> {
  const url = (await notes?.read(family, key).catch(() => undefined))?.['url']
  return typeof url === 'string' ? url : undefined
}
