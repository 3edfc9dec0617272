// An operation as the gateway runs it, on records in memory: what it changes is changed in one go, and once by its name.

import type { Operations, Records } from '../../../../../src/contract/index.ts'
import type { ProtocolReply } from '../../../../../src/contract/records.ts'
import type { JsonObject } from '../../../../../src/lib/json-value.ts'

export type Outcome = {
  readonly value: JsonObject
  readonly sends: readonly ProtocolReply[]
  readonly deliveryId: string | undefined
}

type Asked = { readonly name: string; readonly input: JsonObject; readonly at: number }

export async function operated(operations: Operations, records: Records, { name, input, at }: Asked): Promise<Outcome> {
  const operation = operations[name]
  if (operation === undefined) throw new Error(`there is no operation ${name}`)
  const connection = { tenant: 'default', id: 'default', agent: 'demo', domain: 'bots.example' }
  const { value, change } = await operation(input, { connection, at: new Date(at).toISOString() })
  for (const effect of change?.recordWrites ?? []) {
    if (effect.kind === 'remove') await records.remove(effect.family, effect.key)
    else await records.put(effect.family, effect.key, effect.value, effect)
  }
  return { value, sends: change?.protocolReplies ?? [], deliveryId: change?.deliveryId }
}
