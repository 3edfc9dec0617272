// The run request of seed 002, which is AG-UI's RunAgentInput in its 0.x form (msg 13.1), as far as Parley reads it.
import * as z from 'zod'
import type { Bearer, CallerContext, JsonObject, RecipientCapabilities } from '../../src/contract/index.ts'

const textBlockSchema = z.object({ type: z.literal('text'), text: z.string() })
const binaryBlockSchema = z.object({
  type: z.literal('binary'),
  mimeType: z.string().min(1),
  url: z.string().nullish(),
  data: z.string().nullish(),
  filename: z.string().nullish(),
})
const otherBlockSchema = z.looseObject({ type: z.string().min(1) })

export const userMessageSchema = z.object({
  id: z.string().min(1).max(512),
  role: z.literal('user'),
  content: z.union([z.string(), z.array(z.unknown()).min(1)]),
})

/** The result of a tool that the client ran. */
export const toolMessageSchema = z.object({
  id: z.string().min(1).max(512),
  role: z.literal('tool'),
  toolCallId: z.string().min(1).max(512),
  content: z.string(),
  error: z.string().nullish(),
})

const clientToolSchema = z.looseObject({ name: z.string().min(1), description: z.string().nullish() })

const runId = z.string().trim().min(1).max(256)

/** As much of a request as is needed to name it. */
export const runIdSchema = z.looseObject({ runId })

/** Everything in the body is the client's word: who it is comes from the connection, what was said before from us. */
export const runRequestSchema = z.looseObject({
  threadId: z.string().trim().min(1).max(512),
  runId,
  messages: z.array(z.looseObject({ role: z.string() })).min(1),
  tools: z.array(clientToolSchema).max(64).nullish(),
})

export type RunRequest = z.infer<typeof runRequestSchema>
export type ToolMessage = z.infer<typeof toolMessageSchema>
export type UserMessage = z.infer<typeof userMessageSchema>
export type BinaryBlock = z.infer<typeof binaryBlockSchema>
export type ContentBlock =
  | z.infer<typeof textBlockSchema>
  | BinaryBlock
  | { readonly type: 'other'; readonly name: string }

/** A block of a type we know must have that type's fields; other types are carried by name. */
export function readBlock(block: unknown): ContentBlock | undefined {
  const named = otherBlockSchema.safeParse(block)
  if (!named.success) return undefined
  if (named.data.type === 'text') return textBlockSchema.safeParse(block).data
  if (named.data.type === 'binary') return binaryBlockSchema.safeParse(block).data
  return { type: 'other', name: named.data.type }
}

/** A request whose sender is settled: the holder of a token, or this machine. */
export type AguiPayload = {
  readonly bytes: Uint8Array
  readonly bearer: Bearer | undefined
  /** What its headers say about the agents that called before. */
  readonly chain:
    | {
        readonly kind: 'read'
        readonly caller: CallerContext | undefined
        readonly agentChain: RecipientCapabilities['agent_chain']
      }
    | { readonly kind: 'unreadable'; readonly remedy: string }
}

/** The one thing this channel sends: the reply, as the last event of its run. */
export type AguiCall = { readonly event: { readonly type: 'done'; readonly response: JsonObject } }
