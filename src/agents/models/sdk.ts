// What is used of the AI SDK, in a module of its own: imported at the first question to a model, and nothing else of the SDK is bundled.

export { createOpenAICompatible } from '@ai-sdk/openai-compatible'
export { jsonSchema, Output, streamText, tool } from 'ai'
