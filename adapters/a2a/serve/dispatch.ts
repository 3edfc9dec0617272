// The handler of each operation, for every binding and version.
import type { Fields } from '../wire/fields.ts'
import type { OperationName } from '../wire/operations.ts'
import type { A2aDeps, A2aRequest, Operation, Outcome } from './call.ts'
import { getExtendedCard } from './extended-card.ts'
import { createPushConfig, deletePushConfig, getPushConfig, listPushConfigs } from './push.ts'
import { sendMessage } from './send.ts'
import { streamMessage, subscribeToTask } from './stream.ts'
import { cancelTask, getTask, listTasks } from './tasks.ts'

const table: Readonly<Record<OperationName, Operation>> = {
  send: sendMessage,
  stream: streamMessage,
  get: getTask,
  list: listTasks,
  cancel: cancelTask,
  subscribe: subscribeToTask,
  pushCreate: createPushConfig,
  pushGet: getPushConfig,
  pushList: listPushConfigs,
  pushDelete: deletePushConfig,
  extendedCard: getExtendedCard,
}

export function runOperation(deps: A2aDeps, call: A2aRequest, name: OperationName, params: Fields): Promise<Outcome> {
  return table[name](deps, call, params)
}
