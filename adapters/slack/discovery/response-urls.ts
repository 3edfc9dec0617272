// The address Slack gives with a command or a press, for half an hour and five answers. It is a password: kept sealed, by a name of
// our own, and only while it is good.
import type { TtlStore } from '../../../src/contract/index.ts'
import { sha256Hex } from '../../../src/lib/index.ts'

const family = 'response'
/** A little less than Slack's own half hour. */
const lifeMs = 29 * 60_000

/** The name it is kept by. Undefined: there is none, it is not Slack's, or there is no key to seal it with. */
export async function storeResponseUrl(
  notes: TtlStore | undefined,
  origins: readonly string[],
  value: Readonly<Record<string, unknown>>,
): Promise<string | undefined> {
  const url = value['response_url']
  if (notes === undefined || typeof url !== 'string' || url.length > 2048) return undefined
  if (!URL.canParse(url) || !origins.includes(new URL(url).origin)) return undefined
  const key = (await sha256Hex(url)).slice(0, 32)
  const isKept = await notes.keep({ family, key, value: { url }, lifeMs, isSecret: true }).catch(() => undefined)
  return isKept === undefined ? undefined : key
}

export async function readResponseUrl(notes: TtlStore | undefined, key: string): Promise<string | undefined> {
  const url = (await notes?.read(family, key).catch(() => undefined))?.['url']
  return typeof url === 'string' ? url : undefined
}
