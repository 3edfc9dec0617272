// An activity in the one shape the rest of the channel knows. Pure; whatever does not fit is as if it were not there.
import type { JsonObject } from '../../../src/contract/index.ts'
import type { ReadActivity } from '../wire/activity.ts'
import { audienceOf, readObject } from './read-object.ts'
import { type Fields, firstIri, iriOf, isFields, listOf, timeOf, typeOf } from './values.ts'

export type Fault = { readonly kind: 'fault'; readonly reason: 'no_type' | 'no_actor' }

/** Activities that are about another one. */
const wrapping: ReadonlySet<string> = new Set(['Undo', 'Accept', 'Reject', 'Announce'])
/** An undone announcement of a creation is three deep; no server goes further. */
const maxInner = 2

export function readActivity(json: Fields): ReadActivity | Fault {
  return read(json, maxInner)
}

export function isFault(read: ReadActivity | Fault): read is Fault {
  return 'kind' in read
}

function read(fields: Fields, depth: number): ReadActivity | Fault {
  const type = typeOf(fields['type'] ?? fields['@type'])
  if (type === undefined) return { kind: 'fault', reason: 'no_type' }
  const actors = listOf(fields['actor'])
  const actor = iriOf(actors[0])
  // Of two actors one would be judged and the other believed.
  if (actor === undefined || actors.length > 1) return { kind: 'fault', reason: 'no_actor' }
  const [object] = listOf(fields['object'])
  return {
    id: iriOf(fields),
    type,
    actor,
    to: audienceOf(fields['to']),
    cc: audienceOf(fields['cc']),
    object: isFields(object) ? readObject(object) : iriOf(object),
    inner: wrapping.has(type) && isFields(object) && depth > 0 ? innerOf(object, depth - 1) : undefined,
    target: firstIri(fields['target']),
    published: timeOf(fields['published']),
    // It was parsed from JSON, so it is JSON.
    raw: fields as JsonObject,
  }
}

function innerOf(object: Fields, depth: number): ReadActivity | undefined {
  const inner = read(object, depth)
  return isFault(inner) ? undefined : inner
}
