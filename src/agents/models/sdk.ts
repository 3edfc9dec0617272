// What is used of the AI SDK, and nothing else of it is bundled.

export { createOpenAICompatible } from '@ai-sdk/openai-compatible'
export { jsonSchema, Output, streamText, tool } from 'ai'
