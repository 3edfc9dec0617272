// Who decided what about a message, from the audit log: every decision in its order, with the ground it stands on.
import type { DecisionFacts, Facts, MessageFacts } from '../db/explain.ts'
import { accessRuleText, reasonText } from './reason-words.ts'
import { type TimelineEntry, timelineEntry } from './story.ts'

export function decisionEntries(message: MessageFacts, { decisions, turns }: Facts): readonly TimelineEntry[] {
  // A held sender was told a code, and no more.
  const isTold = turns.at(-1)?.kind === 'door' && message.pairing === null
  // A pairing tells by itself that its sender had to wait for it.
  const told = decisions.filter(({ outcome }) => message.pairing === null || outcome !== 'held')
  return told.map((each) => {
    if (each.action === 'message.admit') return admissionEntry(each, message, isTold)
    return each.action === 'forget' ? erasureEntry(each) : auditedActEntry(each)
  })
}

/** Its sender deleted their account, which asks for their erasure. */
function erasureEntry({ at, outcome }: DecisionFacts): TimelineEntry {
  const isDone = outcome === 'done'
  return timelineEntry(
    at,
    'Forgotten',
    isDone ? 'what they had said was erased.' : 'what they had said is to be erased.',
  )
}

function admissionEntry(decision: DecisionFacts, { principal, state }: MessageFacts, isTold: boolean): TimelineEntry {
  const { at, outcome, code, person } = decision
  const why = reasonText(code ?? outcome)
  switch (outcome) {
    case 'admitted':
      return timelineEntry(
        at,
        'Admitted',
        `as ${principal ?? person ?? 'an unknown sender'}.${decisionGroundText(decision)}`,
      )
    case 'held':
      // Once it is over, what it waited for is history.
      return state === 'held'
        ? timelineEntry(
            at,
            'Held',
            `${why}.${decisionGroundText(decision)} It is answered once an operator lets them in.`,
            'wait',
          )
        : timelineEntry(at, 'Held', `${why}.${decisionGroundText(decision)}`)
    default: {
      const told = isTold ? 'The sender was told so.' : 'No answer was sent.'
      return timelineEntry(at, 'Refused', `${why}.${decisionGroundText(decision)} ${told}`, 'bad')
    }
  }
}

function auditedActEntry({ at, action, outcome, code, actor, person }: DecisionFacts): TimelineEntry {
  const result = code === null ? outcome : `${outcome} (${code})`
  return timelineEntry(at, 'Decision', `${actor ?? person ?? 'the gateway'}: ${action}, ${result}.`)
}

function decisionGroundText({ rule, evidence }: DecisionFacts): string {
  const decided = rule === null ? '' : ` What decided: ${accessRuleText(rule)}.`
  return evidence === null ? decided : `${decided} On ${evidence.assurance} evidence of ${evidence.issuer}.`
}
