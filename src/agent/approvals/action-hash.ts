// What a decision is bound to: the action, whose it is and where it was asked. Anything else is another action.
import type { Json } from '../../contract/index.ts'
import { sha256OfJson } from '../tools/canonical-json.ts'

export type HashedAction = {
  readonly action_id: string
  readonly tool_name: string
  readonly apply_input: Json
  readonly agent: string
  readonly conversation: string
  readonly run: string
}

export function actionHash({ action_id, tool_name, apply_input, agent, conversation, run }: HashedAction) {
  return sha256OfJson({ action_id, tool_name, apply_input, agent, conversation, run })
}
