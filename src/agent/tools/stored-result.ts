// A result as transcripts, events and stores keep it: the request to a client without its secrets, and no
// secret parameter echoed by the tool that received it.
import type { Fields } from '../../contract/index.ts'
import { asFields, isPlainObject } from '../fields.ts'
import { redactParameters, type Sensitivity } from './redact.ts'
import { redacted } from './sensitive-keys.ts'
import type { ToolResult } from './tool.ts'

/** Shorter ones occur by chance; replacing them would garble the text and hide nothing. */
const shortestSecret = 4

export function storedResult(result: ToolResult, parameters: Fields, declared: Sensitivity = {}): ToolResult {
  const secrets = secretParameters(parameters, declared)
  const { runtime_tool_request: request, ...rest } = result
  const asked = request === undefined ? {} : { runtime_tool_request: withoutRequestSecrets(request, declared) }
  if (secrets.length === 0) return { ...rest, ...asked }
  // Scrubbing keeps every key, so the shape stays.
  return scrubSecrets({ ...rest, ...asked }, secrets) as ToolResult
}

/** The values of parameters that are secret. Longest first: a secret may contain another. */
export function secretParameters(parameters: Fields, declared: Sensitivity): readonly string[] {
  const hidden = redactParameters(parameters, declared)
  return [...new Set(secretValues(parameters, hidden))].toSorted((a, b) => b.length - a.length)
}

function withoutRequestSecrets(request: Fields, declared: Sensitivity): Fields {
  if (!('parameters' in request)) return request
  return { ...request, parameters: redactParameters(asFields(request['parameters']), declared) }
}

/** The texts and numbers that redaction took out. */
function secretValues(raw: unknown, shown: unknown): readonly string[] {
  if (shown === redacted && raw !== redacted) return leafTexts(raw).filter((leaf) => leaf.length >= shortestSecret)
  if (Array.isArray(raw) && Array.isArray(shown)) return raw.flatMap((item, at) => secretValues(item, shown[at]))
  if (!isPlainObject(raw) || !isPlainObject(shown)) return []
  return Object.keys(raw).flatMap((key) => secretValues(raw[key], shown[key]))
}

function leafTexts(value: unknown): readonly string[] {
  if (typeof value === 'string' || typeof value === 'number') return [String(value)]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leafTexts) : []
}

function scrubSecrets(value: unknown, secrets: readonly string[]): unknown {
  if (typeof value === 'number') return secrets.includes(String(value)) ? redacted : value
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, redacted), value)
  if (Array.isArray(value)) return value.map((item) => scrubSecrets(item, secrets))
  if (!isPlainObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, scrubSecrets(item, secrets)]))
}
