// The signed count of agents that answered each other to get here: without it two agents that answer no machines would never hear of each
// other, and two that answer all would never stop. `X-Agent-Hop: 2; mac=…`, bound to the mail that carries it.
import type { Hmac } from '../../../src/contract/index.ts'
import { equalInConstantTime } from '../../../src/lib/index.ts'
import { base32 } from '../threads/key.ts'

export const hopHeader = 'X-Agent-Hop'
/** A mail that is the fifth in a row written by agents is ignored. */
export const maxHops = 4
const macLength = 32

export async function signHop(hmac: Hmac, secret: string, hop: number, messageId: string): Promise<string> {
  return `${hop}; mac=${await hopMac(hmac, secret, hop, messageId)}`
}

/** The hop that a mail with this id really has; undefined where no gateway that shares the secret said so. */
export async function verifyHop(
  hmac: Hmac,
  secret: string,
  value: string,
  messageId: string,
): Promise<number | undefined> {
  const [, hop = '', mac = ''] = /^\s*([1-9]\d{0,2})\s*;\s*mac=([a-z2-7]{32})\s*$/.exec(value) ?? []
  if (hop === '') return undefined
  return equalInConstantTime(await hopMac(hmac, secret, Number(hop), messageId), mac) ? Number(hop) : undefined
}

async function hopMac(hmac: Hmac, secret: string, hop: number, messageId: string): Promise<string> {
  const bytes = new TextEncoder().encode(`hop\n${hop}\n${messageId}`)
  return base32(await hmac.sha256(secret, bytes)).slice(0, macLength)
}
