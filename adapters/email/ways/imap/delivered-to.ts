// What the server that delivered a mail into the mailbox wrote on top of it. Only above the first Received field: below it everything is
// the sender's.

export type DeliveryFields = {
  /** Undefined: it was not written down. Empty: the null sender. */
  readonly returnPath: string | undefined
  /** The addresses it was delivered for, the one that was written to first. */
  readonly deliveredTo: readonly string[]
}

const maxHeadBytes = 65_536
const maxFields = 50
/** In the order in which they are believed. */
const recipientFields = ['x-original-to', 'delivered-to', 'envelope-to']

export function readDeliveryFields(raw: Uint8Array): DeliveryFields {
  const fields = fieldsAboveReceived(new TextDecoder('latin1').decode(raw.subarray(0, maxHeadBytes)))
  const returnPath = fields.get('return-path')
  return {
    returnPath: returnPath === undefined ? undefined : withoutAngleBrackets(returnPath),
    deliveredTo: recipientFields.flatMap((name) => {
      const value = fields.get(name)
      return value === undefined ? [] : [withoutAngleBrackets(value)]
    }),
  }
}

/** The first of each name. */
function fieldsAboveReceived(head: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>()
  for (const line of head.split(/\r?\n/, maxFields)) {
    const field = /^([!-9;-~]{1,76}):[ \t]*(.{0,998})$/.exec(line)
    if (line === '' || field?.[1]?.toLowerCase() === 'received') break
    const [name, value] = [field?.[1]?.toLowerCase() ?? '', field?.[2]?.trim() ?? '']
    if (name !== '' && !fields.has(name)) fields.set(name, value)
  }
  return fields
}

function withoutAngleBrackets(value: string): string {
  return /^<(.*)>$/.exec(value)?.[1] ?? value
}
