// An activity in the one shape the rest of the channel knows. Pure; whatever does not fit is as if it were not there.
import type { JsonObject } from '../../../src/contract/index.ts'
import type { ReadActivity } from '../wire/activity.ts'
import { readAudience, readNoteObject } from './read-object.ts'
import { type Fields, firstIri, isPlainObject, readIri, readTimestamp, readType, toList } from './values.ts'

export type UnreadableActivity = { readonly kind: 'fault'; readonly reason: 'no_type' | 'no_actor' }

/** Activities that are about another one. */
const wrapping: ReadonlySet<string> = new Set(['Undo', 'Accept', 'Reject', 'Announce'])
/** An undone announcement of a creation is three deep; no server goes further. */
const maxInner = 2

export function readActivity(json: Fields): ReadActivity | UnreadableActivity {
  return readActivityFields(json, maxInner)
}

export function isUnreadableActivity(read: ReadActivity | UnreadableActivity): read is UnreadableActivity {
  return 'kind' in read
}

function readActivityFields(fields: Fields, depth: number): ReadActivity | UnreadableActivity {
  const type = readType(fields['type'] ?? fields['@type'])
  if (type === undefined) return { kind: 'fault', reason: 'no_type' }
  const actors = toList(fields['actor'])
  const actor = readIri(actors[0])
  // Of two actors one would be judged and the other believed.
  if (actor === undefined || actors.length > 1) return { kind: 'fault', reason: 'no_actor' }
  const [object] = toList(fields['object'])
  return {
    id: readIri(fields),
    type,
    actor,
    to: readAudience(fields['to']),
    cc: readAudience(fields['cc']),
    object: isPlainObject(object) ? readNoteObject(object) : readIri(object),
    inner: wrapping.has(type) && isPlainObject(object) && depth > 0 ? readInnerActivity(object, depth - 1) : undefined,
    target: firstIri(fields['target']),
    published: readTimestamp(fields['published']),
    // It was parsed from JSON, so it is JSON.
    raw: fields as JsonObject,
  }
}

function readInnerActivity(object: Fields, depth: number): ReadActivity | undefined {
  const inner = readActivityFields(object, depth)
  return isUnreadableActivity(inner) ? undefined : inner
}
