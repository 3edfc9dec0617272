// Hop 8: an answer to the address that came with a command or a press. It needs no token, and none goes there.
import type { ChannelDeps, TtlStore } from '../../../src/contract/index.ts'
import { readResponseUrl } from '../discovery/response-urls.ts'
import type { MessagePayload } from '../wire/call.ts'

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
