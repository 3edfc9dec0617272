// Receipts and deliveries on SQL: what operators and watching requests read.

import type { Page } from '../contract/index.ts'
import type {
  BooksLine,
  EndedMessage,
  PastEffect,
  Receipt,
  ReceiptStore,
  StoredRejectedEvent,
} from '../inbound/receipt-store.ts'
import type { Delivery, DeliveryLine, DeliveryStore, FailedDeliveries } from '../outbox/delivery-store.ts'
import type { Database, Param } from './database.ts'
import {
  dropDelivery,
  findFailedDeliveries,
  listDeliveries,
  retryDelivery,
  showDelivery,
} from './statements/deliveries.ts'
import {
  findReceipt,
  findRejectedEvent,
  listMessages,
  markRedriven,
  mayRepeat,
  readBooks,
  resubmitMessage,
} from './statements/receipts.ts'

type Revived = { readonly revived: number }

export function createReceiptStore(database: Database, tenant: string): ReceiptStore {
  return {
    async find(inboxId) {
      return (await database.query<Receipt>(findReceipt, [inboxId, tenant]))[0]
    },
    books: () => database.query<BooksLine>(readBooks, [tenant]),
    list: (state, page) => database.query<EndedMessage>(listMessages, [state, ...pageParams(page), tenant]),
    async resubmit(inboxId, by, { isAnew } = { isAnew: false }) {
      const [row] = await database.query<Revived>(resubmitMessage, [inboxId, tenant, by, isAnew])
      return (row?.revived ?? 0) > 0
    },
    mayRepeat: (inboxId) => database.query<PastEffect>(mayRepeat, [inboxId, tenant]),
    async findRemains(inboxId) {
      return (await database.query<StoredRejectedEvent>(findRejectedEvent, [inboxId, tenant]))[0]
    },
    async markRedriven(inboxId, by) {
      await database.query(markRedriven, [inboxId, tenant, by])
    },
  }
}

export function createDeliveryStore(database: Database, tenant: string): DeliveryStore {
  return {
    list: (states, page) =>
      database.query<DeliveryLine>(listDeliveries, [states.join(','), ...pageParams(page), tenant]),
    async show(id) {
      return (await database.query<Delivery>(showDelivery, [id, tenant]))[0]
    },
    async retry(id, by) {
      const [row] = await database.query<Revived>(retryDelivery, [id, tenant, by])
      return (row?.revived ?? 0) > 0
    },
    async countFailed(failed) {
      return (await failedIds(database, tenant, failed, maxCounted)).length
    },
    findFailed: (failed, limit) => failedIds(database, tenant, failed, limit),
    async drop(id, by) {
      return (await database.query(dropDelivery, [id, tenant, by])).length > 0
    },
  }
}

const maxCounted = 10_000

async function failedIds(
  database: Database,
  tenant: string,
  { state, since, connection }: FailedDeliveries,
  limit: number,
): Promise<readonly string[]> {
  const rows = await database.query<{ id: string }>(findFailedDeliveries, [tenant, state, since, connection, limit])
  return rows.map(({ id }) => id)
}

function pageParams({ limit, before, connection }: Page): readonly Param[] {
  return [limit, before ?? null, connection ?? null]
}
