// The demo agent's tools. Neither touches anything outside.
import * as z from 'zod'
import { defineTool } from '../tools/define-tool.ts'

export const dice = defineTool({
  name: 'demo/dice',
  description: 'Rolls a die.',
  parameters: z.object({ sides: z.int().min(2).max(1000).default(6), nth: z.int().default(1) }),
  execute: ({ sides }) => ({ sides, rolled: 1 + ((crypto.getRandomValues(new Uint32Array(1))[0] ?? 0) % sides) }),
})

/** `preview`: a person agrees first. */
export const order = defineTool({
  name: 'demo/order',
  description: 'Orders something, in pretence.',
  parameters: z.object({ what: z.string().min(1).max(200) }),
  action_policy: 'preview',
  approval: { summary: ({ what }) => `order ${what}` },
  idempotent: true,
  execute: ({ what }) => ({ ordered: what }),
})
