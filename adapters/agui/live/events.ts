// Events of AG-UI 1.0, as far as this gateway sends them. Fields that say nothing are left out, never null.
import type { Json, JsonObject } from '../../../src/contract/index.ts'
import type { Interrupt } from '../wire.ts'

type Outcome =
  | { readonly type: 'success'; readonly pendingToolCallIds?: readonly string[] }
  | { readonly type: 'interrupt'; readonly interrupts: readonly Interrupt[] }
  | { readonly type: 'cancelled' }

export type AguiEvent =
  | {
      readonly type: 'RUN_STARTED'
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion?: string
      readonly parentRunId?: string
    }
  | {
      readonly type: 'RUN_FINISHED'
      readonly threadId: string
      readonly runId: string
      readonly outcome?: Outcome
      readonly result?: Json
    }
  | { readonly type: 'RUN_ERROR'; readonly message: string; readonly code: string }
  | { readonly type: 'TEXT_MESSAGE_START'; readonly messageId: string; readonly role: 'assistant' }
  | { readonly type: 'TEXT_MESSAGE_CONTENT'; readonly messageId: string; readonly delta: string }
  | { readonly type: 'TEXT_MESSAGE_END'; readonly messageId: string }
  | { readonly type: 'TOOL_CALL_START'; readonly toolCallId: string; readonly toolCallName: string }
  | { readonly type: 'TOOL_CALL_ARGS'; readonly toolCallId: string; readonly delta: string }
  | { readonly type: 'TOOL_CALL_END'; readonly toolCallId: string }
  | {
      readonly type: 'TOOL_CALL_RESULT'
      readonly messageId: string
      readonly toolCallId: string
      readonly content: string
      readonly role: 'tool'
    }
  | { readonly type: 'STATE_SNAPSHOT'; readonly snapshot: Json }
  | { readonly type: 'STATE_DELTA'; readonly delta: Json }
  | { readonly type: 'MESSAGES_SNAPSHOT'; readonly messages: readonly JsonObject[] }
  | {
      readonly type: 'ACTIVITY_SNAPSHOT'
      readonly messageId: string
      readonly activityType: string
      readonly content: JsonObject
    }
  | { readonly type: 'CUSTOM'; readonly name: string; readonly value: Json }

/** One event as one frame. The number is ours: a client that comes back with it goes on behind it. */
export function sseFrame(event: AguiEvent, cursor: string | undefined): string {
  const id = cursor === undefined ? '' : `id: ${cursor}\n`
  return `${id}data: ${JSON.stringify(event)}\n\n`
}
