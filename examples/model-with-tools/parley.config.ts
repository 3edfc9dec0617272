// A model with two tools, one of which asks a person before it runs. MODEL_URL is any server of the chat completions API.
import { defineAgent, defineConfig, defineTool, openAiCompatible, secret } from 'parley-gateway'
import * as z from 'zod'

const price = defineTool({
  name: 'shop/price',
  description: 'What an article costs, in EUR.',
  parameters: z.object({ article: z.string() }),
  idempotent: true,
  execute: async ({ article }) => ({ article, eur: article.length * 2 }),
})

const order = defineTool({
  name: 'shop/order',
  description: 'Orders an article.',
  parameters: z.object({ article: z.string(), eur: z.number() }),
  approval: { summary: ({ article, eur }) => `order ${article} for ${eur} EUR` },
  // The key is the same however often the turn begins anew: the shop takes an order once.
  execute: async ({ article }, { key }) => ({ ordered: article, order: key.slice(-8) }),
})

const shopper = defineAgent({
  slug: 'shopper',
  instructions: 'You buy what people ask for. Look the price up first.',
  model: openAiCompatible({
    baseUrl: process.env['MODEL_URL'] ?? 'http://127.0.0.1:11434/v1',
    model: process.env['MODEL'] ?? 'llama3.2',
    ...(process.env['MODEL_KEY'] === undefined ? {} : { apiKey: secret(process.env['MODEL_KEY']) }),
  }),
  tools: [price, order],
})

export default defineConfig({ agents: [shopper] })
