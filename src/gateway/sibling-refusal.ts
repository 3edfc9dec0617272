// Why an agent is not asked, or what it wanted cannot be had inside another one's turn.
import type { Pauses } from '../agent/approvals/pauses.ts'
import { GatewayError } from '../contract/index.ts'

/** A person could not tell which of several agents an approval is for, so the call ends and nothing is done. */
export function refusedPauses(slug: string): {
  readonly pause: Pauses
  readonly wanted: () => GatewayError | undefined
} {
  let wanted: GatewayError | undefined
  const refuse = (reason: string, why: string): Promise<never> => {
    wanted = refusal(slug, reason, why)
    return Promise.reject(wanted)
  }
  return {
    pause: {
      approval: () => refuse('approval_required', 'it needs an approval first; ask the person to write to it directly'),
      toolRequest: () => refuse('runtime_tool_pending', 'it needs a tool that only the person’s own program can run'),
      settle: () => {},
    },
    wanted: () => wanted,
  }
}

export function refusal(slug: string, reason: string, why: string): GatewayError {
  return new GatewayError('sibling_refused', `[agent] ${slug} was not asked: ${why} (${reason})`, {
    details: { agent: slug, reason },
  })
}
