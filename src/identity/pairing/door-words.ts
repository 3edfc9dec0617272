// What people are told at the door. Useful to them, and worth nothing to anybody else: no rule, no name, no setting.
import type { RefusalReason } from '../access.ts'
import { shownCode } from './pairing-code.ts'

export function pairingWords(code: string): string {
  return [
    `I do not know you yet, so I asked to be told whether I may answer. Your message is kept meanwhile.`,
    `Give this code to whoever runs me: ${shownCode(code)}`,
    `They let you in with: parley pairings approve ${shownCode(code)}`,
  ].join('\n')
}

/** Undefined: nothing is said. Whoever is not proven to be somebody is never answered: the address may be a victim's. */
export function refusalWords(reason: RefusalReason | string, subject: string | null): string | undefined {
  if (subject === null) return undefined
  switch (reason) {
    case 'connection_closed':
    case 'agent_closed':
      return 'I take no messages here at the moment. Please try again later, or ask whoever runs me.'
    case 'not_on_allow_list':
      return `I may not talk with you here. If you think I should, ask whoever runs me to let you in, as ${subject}`
    case 'denied_by_rule':
    case 'blocked':
      return 'I may not talk with you here.'
    case 'gw:hop_limit':
      return 'This went through as many agents as it may. Please ask me directly.'
    case 'gw:agent_loop':
      return 'I have had my turn with this already, and nobody has said anything new since.'
    default:
      return undefined
  }
}
