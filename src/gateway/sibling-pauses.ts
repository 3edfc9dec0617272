// What an agent stops for that another one asked: a decision is wanted of the person at the top of the chain, anything else
// cannot be had inside another one's turn.
import type { ApprovalWish, AskedApproval, Pauses } from '../agent/approvals/pauses.ts'
import { GatewayError } from '../contract/index.ts'
import type { AgentCallQuestions } from './pauses.ts'

export type WantedApproval = { readonly wish: ApprovalWish; readonly asked: AskedApproval }

export type AgentCallPauses = {
  /** `settles`: the decision that this part of its run goes on after. */
  readonly pause: (settles: string | undefined) => Pauses
  /** What it wants decided next, in the order it asked. */
  readonly next: () => WantedApproval | undefined
  /** Set where it stopped for what it cannot get. */
  readonly refused: () => GatewayError | undefined
}

export function createAgentCallPauses(slug: string, questions: AgentCallQuestions): AgentCallPauses {
  const wanted: WantedApproval[] = []
  let refused: GatewayError | undefined
  return {
    pause: (settles) => ({
      async approval(wish) {
        const asked = questions.worded(wish, slug)
        wanted.push({ wish, asked })
        return asked
      },
      async toolRequest() {
        refused = agentCallDenied(
          slug,
          'runtime_tool_pending',
          'it needs a tool that only the person’s own program can run',
        )
        throw refused
      },
      settle(outcome) {
        if (settles !== undefined) questions.settle(settles, outcome)
      },
    }),
    next: () => wanted.shift(),
    refused: () => refused,
  }
}

/** Why an agent is not asked, or what it wanted cannot be had. */
export function agentCallDenied(slug: string, reason: string, why: string): GatewayError {
  return new GatewayError('sibling_refused', `[agent] ${slug} was not asked: ${why} (${reason})`, {
    details: { agent: slug, reason },
  })
}
