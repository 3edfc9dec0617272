// What an adapter made of an inbound event, looked at before it is stored.
import { type InboundMessage, type NormalizedMessage, textOf, validateMessage } from '../../contract/index.ts'
import { areStorable } from '../../db/records.ts'
import { sanitizeMessage } from '../../inbound/clean-message.ts'
import type { GatewayDeps } from '../deps.ts'

export type CheckedEvent =
  | { readonly kind: 'message'; readonly arrived: InboundMessage }
  /** `path`: where it is invalid. */
  | { readonly kind: 'remains'; readonly state: 'dead' | 'ignored'; readonly reason: string; readonly path?: string }

/** What an adapter made of an inbound event, as the gateway takes it: valid, cleaned, and saying something. */
export function checkEvent(deps: Pick<GatewayDeps, 'validation'>, arrived: InboundMessage): CheckedEvent {
  const checked = validateMessage(arrived.message, deps.validation)
  if (!checked.ok) {
    return { kind: 'remains', state: 'dead', reason: checked.code, path: checked.path }
  }
  if (!areStorable(arrived)) return { kind: 'remains', state: 'dead', reason: 'effect_invalid' }
  if (saysNothing(checked.message)) return { kind: 'remains', state: 'ignored', reason: 'empty_message' }
  return { kind: 'message', arrived: { ...arrived, message: sanitizeMessage(checked.message) } }
}

/** Blank text and nothing else. A file without words is a message; so is the withdrawal of one. */
function saysNothing({ parts, channel }: NormalizedMessage): boolean {
  return channel?.event !== 'delete' && parts.every((part) => part.kind === 'text') && textOf(parts).trim() === ''
}
