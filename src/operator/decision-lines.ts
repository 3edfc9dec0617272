// Who decided what about a message, from the audit log: every decision in its order, with the ground it stands on.
import type { DecisionFacts, Facts, MessageFacts } from './explain-store.ts'
import { reasonWords, ruleWords } from './reason-words.ts'
import { line, type StoryLine } from './story.ts'

export function decisionLines(message: MessageFacts, { decisions, turns }: Facts): readonly StoryLine[] {
  // A held sender was told a code, and no more.
  const isTold = turns.at(-1)?.kind === 'door' && message.pairing === null
  // A pairing tells by itself that its sender had to wait for it.
  const told = decisions.filter(({ outcome }) => message.pairing === null || outcome !== 'held')
  return told.map((each) => {
    if (each.action === 'message.admit') return admission(each, message, isTold)
    return each.action === 'forget' ? parting(each) : act(each)
  })
}

/** Its sender deleted their account, which asks for their erasure. */
function parting({ at, outcome }: DecisionFacts): StoryLine {
  const isDone = outcome === 'done'
  return line(at, 'Forgotten', isDone ? 'what they had said was erased.' : 'what they had said is to be erased.')
}

function admission(decision: DecisionFacts, { principal, state }: MessageFacts, isTold: boolean): StoryLine {
  const { at, outcome, code, person } = decision
  const why = reasonWords(code ?? outcome)
  switch (outcome) {
    case 'admitted':
      return line(at, 'Admitted', `as ${principal ?? person ?? 'an unknown sender'}.${ground(decision)}`)
    case 'held':
      // Once it is over, what it waited for is history.
      return state === 'held'
        ? line(at, 'Held', `${why}.${ground(decision)} It is answered once an operator lets them in.`, 'wait')
        : line(at, 'Held', `${why}.${ground(decision)}`)
    default: {
      const told = isTold ? 'The sender was told so.' : 'No answer was sent.'
      return line(at, 'Refused', `${why}.${ground(decision)} ${told}`, 'bad')
    }
  }
}

function act({ at, action, outcome, code, actor, person }: DecisionFacts): StoryLine {
  const result = code === null ? outcome : `${outcome} (${code})`
  return line(at, 'Decision', `${actor ?? person ?? 'the gateway'}: ${action}, ${result}.`)
}

function ground({ rule, evidence }: DecisionFacts): string {
  const decided = rule === null ? '' : ` What decided: ${ruleWords(rule)}.`
  return evidence === null ? decided : `${decided} On ${evidence.assurance} evidence of ${evidence.issuer}.`
}
