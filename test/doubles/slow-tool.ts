// A tool that says when it began and ends when its door is opened.
import * as z from 'zod'
import { defineTool, type Tool } from '../../src/agents/tools/define-tool.ts'
import type { Door } from './background-gateway.ts'

export function slowTool(acted: string[], door: () => Door): Tool {
  return defineTool({
    name: 'demo/act',
    description: 'Acts.',
    parameters: z.object({ n: z.string() }),
    execute: async ({ n }) => {
      acted.push(n)
      await door().passed
      return { did: n }
    },
  })
}

export const callOfSlowTool = (n: string) => ({
  id: `call-${n}`,
  name: 'demo__act',
  arguments: JSON.stringify({ n }),
})
