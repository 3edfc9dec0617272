// The extended card, for callers that show a credential.
import { createFault } from '../wire/faults.ts'
import { type Operation, resultOutcome } from './call.ts'

export const getExtendedCard: Operation = async ({ callers, cards, settings }, { caller, named, origin, dialect }) => {
  const missing = createFault('extended_card_not_configured', 'no extended card is configured here')
  if (settings.extendedCard === false)
    // 0.3 has one word for both.
    return dialect === '0.3' ? missing : createFault('unsupported_operation', 'this agent has no extended card')
  if (settings.extendedCard === true) return missing
  // Being on this machine is a credential too.
  if (caller.kind === 'anonymous')
    return createFault('unauthenticated', 'the extended card is for callers who show a credential', {
      headers: { 'www-authenticate': callers.challenge('missing_credential') },
    })
  const card = await cards.extended({ agent: named }, { origin, isLocal: caller.kind === 'local' }, dialect)
  return card === undefined ? missing : resultOutcome(card)
}
