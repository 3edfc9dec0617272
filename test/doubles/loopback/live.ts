// The loopback platform lets a message be replaced: a reply grows by edits, or as a preview where it shows any.

import type { FrameOutcome, LiveFrame, LiveVerbs } from '../../../src/contract/index.ts'
import type { JsonObject } from '../../../src/lib/json-value.ts'
import type { LoopbackSettings } from './config.ts'
import { replyToSchema } from './wire.ts'

type Deps = { readonly fetch: typeof fetch; readonly settings: LoopbackSettings }

export function loopbackLive(deps: Deps, everyMs: number): LiveVerbs {
  const { previewMs } = deps.settings
  return {
    everyMs,
    open(to, text): JsonObject {
      return { conversation: replyToSchema.parse(to).conversation, text }
    },
    ...(previewMs === undefined
      ? {}
      : { preview: (_to, turnId) => ({ reference: `p/${turnId}`, everyMs, refreshMs: previewMs / 2 }) }),
    frame: (frame) => showFrame(deps, frame),
  }
}

async function showFrame({ fetch, settings }: Deps, frame: LiveFrame): Promise<FrameOutcome> {
  const { conversation } = replyToSchema.parse(frame.to)
  const isPreview = frame.reference.startsWith('p/')
  const path = isPreview ? `previews/${frame.reference.slice(2)}` : `messages/${encodeURIComponent(frame.reference)}`
  const response = await fetch(`${settings.vendorUrl}/${path}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ conversation, text: frame.text, frame: true }),
    signal: frame.signal,
  })
  if (response.ok) return { kind: 'shown' }
  if (response.status === 429)
    return { kind: 'later', afterMs: Number(response.headers.get('retry-after') ?? 1) * 1000 }
  if (response.status >= 500) return { kind: 'later', afterMs: 1_000 }
  return { kind: isPreview && response.status === 404 ? 'unavailable' : 'over', reason: `vendor_${response.status}` }
}

export async function showTyping({ fetch, settings }: Deps, to: JsonObject): Promise<void> {
  const { conversation } = replyToSchema.parse(to)
  await fetch(`${settings.vendorUrl}/typing`, { method: 'POST', body: JSON.stringify({ conversation }) })
}
