// What an inbound event changes besides its own row, within what the database can hold: names are in indexes, which take no long ones.
import { type IgnoredEvent, isOrderKey, type JsonObject, type RecordWrite } from '../contract/index.ts'

const maxFamilyLength = 100
const maxValueLength = 64 * 1024
/** An inbound event changes and answers a few things; more is a fault of the adapter. */
const maxChanges = 100

export type RecordChanges = Pick<IgnoredEvent, 'effects' | 'sends' | 'cancels' | 'isFarewell'>

export function isStorableRecord(family: string, key: string, value: JsonObject): boolean {
  const isShort = family.length <= maxFamilyLength && isOrderKey(family) && isOrderKey(key)
  return isShort && JSON.stringify(value).length <= maxValueLength
}

export function changesAnything({ effects = [], sends = [], cancels, isFarewell = false }: RecordChanges): boolean {
  return effects.length > 0 || sends.length > 0 || cancels !== undefined || isFarewell
}

/** False: none of it can be done as it was asked for, and nothing of it is done. */
export function areStorable(
  changes: RecordChanges & { readonly subject?: string | undefined },
  atMost = maxChanges,
): boolean {
  const { effects = [], sends = [], cancels, isFarewell = false, subject } = changes
  return (
    effects.length + sends.length <= atMost &&
    effects.every(isStorable) &&
    sends.every(({ orderKey, clientId }) => isOrderKey(orderKey) && isOrderKey(clientId)) &&
    // Without a prefix it would be everything there is.
    (cancels === undefined || isOrderKey(cancels.orderKeyPrefix)) &&
    // An erasure needs a subject.
    (!isFarewell || (subject !== undefined && isOrderKey(subject)))
  )
}

function isStorable(effect: RecordWrite): boolean {
  return isStorableRecord(effect.family, effect.key, effect.kind === 'put' ? effect.value : {})
}
