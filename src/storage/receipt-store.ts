// Receipts and deliveries on SQL: what operators and watching requests read.

import type { Page } from '../contract/index.ts'
import type { BooksLine, EndedMessage, KeptRemains, Receipt, ReceiptStore } from '../inbound/receipt-store.ts'
import type { Delivery, DeliveryLine, DeliveryStore } from '../outbox/delivery-store.ts'
import type { Database, Param } from './database.ts'
import { dropDelivery, listDeliveries, retryDelivery, showDelivery } from './statements/deliveries.ts'
import {
  findReceipt,
  findRemains,
  listMessages,
  markRedriven,
  readBooks,
  resubmitMessage,
} from './statements/receipts.ts'

type Revived = { readonly revived: number }

export function createReceiptStore(database: Database): ReceiptStore {
  return {
    async find(inboxId) {
      return (await database.query<Receipt>(findReceipt, [inboxId]))[0]
    },
    books: () => database.query<BooksLine>(readBooks, []),
    list: (state, page) => database.query<EndedMessage>(listMessages, [state, ...pageParams(page)]),
    async resubmit(inboxId) {
      const [row] = await database.query<Revived>(resubmitMessage, [inboxId])
      return (row?.revived ?? 0) > 0
    },
    async findRemains(inboxId) {
      return (await database.query<KeptRemains>(findRemains, [inboxId]))[0]
    },
    async markRedriven(inboxId) {
      await database.query(markRedriven, [inboxId])
    },
  }
}

export function createDeliveryStore(database: Database): DeliveryStore {
  return {
    list: (states, page) => database.query<DeliveryLine>(listDeliveries, [states.join(','), ...pageParams(page)]),
    async show(id) {
      return (await database.query<Delivery>(showDelivery, [id]))[0]
    },
    async retry(id) {
      const [row] = await database.query<Revived>(retryDelivery, [id])
      return (row?.revived ?? 0) > 0
    },
    async drop(id) {
      return (await database.query(dropDelivery, [id])).length > 0
    },
  }
}

function pageParams({ limit, before, connection }: Page): readonly Param[] {
  return [limit, before ?? null, connection ?? null]
}
