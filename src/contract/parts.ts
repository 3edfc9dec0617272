// Parts: what a message or a reply consists of.
import * as z from 'zod'

export const maxInlineBytes = 256 * 1024
export const maxTextLength = 1024 * 1024
export const maxParts = 64

const policyKinds = [
  'consent_required',
  'unauthorized',
  'payment_required',
  'forbidden',
  'too_many_requests',
  'unavailable_for_legal_reasons',
  'service_unavailable',
] as const

const base64Pattern = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const inlineSchema = z.object({
  kind: z.literal('inline'),
  // Four characters carry three bytes; the length is checked before the pattern so that a huge string costs nothing.
  data_base64: z
    .string()
    .max(Math.ceil(maxInlineBytes / 3) * 4)
    .regex(base64Pattern),
})
const urlSchema = z.object({
  kind: z.literal('url'),
  url: z.string().refine(isHttpsOrSignedStorageUrl, 'https only'),
  expires_at: z.iso.datetime().optional(),
})
const contentAddressedSchema = z.object({
  kind: z.literal('content_addressed'),
  algo: z.literal('sha256'),
  digest: z.string().regex(/^[0-9a-f]{64}$/),
  url: z.string().refine(isHttpsOrSignedStorageUrl, 'https only').optional(),
})

/** Still at the platform: only the adapter it came through can open it. Only until its turn is prepared; an agent never sees it. */
const atChannelSchema = z.object({ kind: z.literal('channel'), ref: z.record(z.string(), z.json()) })

export const bytesRefSchema = z.discriminatedUnion('kind', [
  inlineSchema,
  urlSchema,
  contentAddressedSchema,
  atChannelSchema,
])

/** Which stored file a part stands for. Access comes from the row behind the id, never from these words. */
const attachmentRefSchema = z.object({ id: z.uuid(), bucket: z.string().min(1), path: z.string().min(1) })

const policySchema = z.looseObject({ kind: z.string().min(1), message: z.string() })

const textPartSchema = z.object({
  kind: z.literal('text'),
  mime: z.enum(['text/plain', 'text/markdown', 'text/html']),
  content: z.string().max(maxTextLength),
})
const filePartSchema = z.object({
  kind: z.literal('file'),
  bytes_ref: bytesRefSchema,
  mime: z.string().optional(),
  name: z.string().optional(),
  size: z.number().int().nonnegative().optional(),
  attachment: attachmentRefSchema.optional(),
})
const linkPartSchema = z.object({
  kind: z.literal('link'),
  url: z.string().min(1),
  title: z.string().optional(),
  description: z.string().optional(),
  /** What is behind it, where its writer knows. */
  mime: z.string().optional(),
})
const artifactPartSchema = z.object({
  kind: z.literal('artifact'),
  bytes_ref: bytesRefSchema,
  artifact_type: z.string().optional(),
  mime: z.string().optional(),
  name: z.string().optional(),
  attachment: attachmentRefSchema.optional(),
})
const toolCallPartSchema = z.object({
  kind: z.literal('tool_call'),
  id: z.string().min(1),
  name: z.string().min(1),
  args: z.unknown(),
  result: z.unknown().optional(),
  error: z.object({ message: z.string() }).optional(),
})
const policyPartSchema = z.object({ kind: z.literal('policy'), policy: policySchema })

const knownPartSchema = z.discriminatedUnion('kind', [
  textPartSchema,
  filePartSchema,
  linkPartSchema,
  artifactPartSchema,
  toolCallPartSchema,
  policyPartSchema,
])
const knownKinds: ReadonlySet<string> = new Set(['text', 'file', 'link', 'artifact', 'tool_call', 'policy'])

/** A kind we do not know yet: kept in storage, replaced by a placeholder in prompts. */
const unknownPartSchema = z.looseObject({
  kind: z
    .string()
    .min(1)
    .refine((kind) => !knownKinds.has(kind)),
})

export const partSchema = z.preprocess(wrapBarePolicy, z.union([knownPartSchema, unknownPartSchema]))

/** Where bytes are: inline, at a URL, by content hash, or still at the channel. */
export type BytesRef = z.infer<typeof bytesRefSchema>
/** A part whose kind this release knows. */
export type KnownPart = z.infer<typeof knownPartSchema>
/** One piece of a message: text, file, link, artifact, tool call, policy, or a kind from the future. */
export type Part = KnownPart | z.infer<typeof unknownPartSchema>

export function isKnownPart(part: Part): part is KnownPart {
  return knownKinds.has(part.kind)
}

/** A part that stands for bytes. */
export type FilePart = Extract<KnownPart, { kind: 'file' | 'artifact' }>

export function isFilePart(part: Part): part is FilePart {
  return isKnownPart(part) && (part.kind === 'file' || part.kind === 'artifact')
}

/** Whether a part of any of them stands for a file. */
export function containFiles(messages: Iterable<{ readonly parts: readonly Part[] } | undefined>): boolean {
  for (const message of messages) if (message?.parts.some(isFilePart)) return true
  return false
}

/** The parser to blame for a bad part: the union alone would only say that nothing matched. */
export function partParserFor(kind: unknown): z.ZodType {
  return typeof kind === 'string' && knownKinds.has(kind) ? knownPartSchema : unknownPartSchema
}

/** Parts as a model may see them: what we cannot interpret is named, never guessed. */
export function toPromptParts(parts: readonly Part[]): readonly KnownPart[] {
  return parts.map((part) =>
    isKnownPart(part)
      ? part
      : { kind: 'text', mime: 'text/plain', content: `[unsupported content: ${String(part.kind).slice(0, 64)}]` },
  )
}

/** All text of a message in reading order. */
export function textOf(parts: readonly Part[]): string {
  const texts: string[] = []
  for (const part of parts) if (isKnownPart(part) && part.kind === 'text') texts.push(part.content)
  return texts.join('\n')
}

/**
 * A part of text.
 *
 * @example textPart('**done**', 'text/markdown')
 */
export function textPart(content: string, mime: 'text/plain' | 'text/markdown' = 'text/plain'): KnownPart {
  return { kind: 'text', mime, content }
}

function wrapBarePolicy(input: unknown): unknown {
  if (typeof input !== 'object' || input === null || !('kind' in input)) return input
  const isBare = (policyKinds as readonly unknown[]).includes(input.kind)
  return isBare ? { kind: 'policy', policy: input } : input
}

/** Our own handles are http where the gateway itself is; that one is ours is checked when it is followed. */
function isHttpsOrSignedStorageUrl(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, pathname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && pathname.startsWith('/storage/v1/object/sign/'))
}
