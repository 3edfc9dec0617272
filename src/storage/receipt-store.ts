// Receipts and deliveries on SQL: what operators and watching requests read.
import type { BooksLine, DeadMessage, Receipt, ReceiptStore } from '../inbound/receipt-store.ts'
import type { Delivery, DeliveryLine, DeliveryStore } from '../outbox/delivery-store.ts'
import type { Database } from './database.ts'
import { dropDelivery, listDeliveries, retryDelivery, showDelivery } from './statements/deliveries.ts'
import { findReceipt, listDead, readBooks, resubmitMessage } from './statements/receipts.ts'

type Revived = { readonly revived: number }

export function createReceiptStore(database: Database): ReceiptStore {
  return {
    async find(inboxId) {
      return (await database.query<Receipt>(findReceipt, [inboxId]))[0]
    },
    books: () => database.query<BooksLine>(readBooks, []),
    listDead: (limit) => database.query<DeadMessage>(listDead, [limit]),
    async resubmit(inboxId) {
      const [row] = await database.query<Revived>(resubmitMessage, [inboxId])
      return (row?.revived ?? 0) > 0
    },
  }
}

export function createDeliveryStore(database: Database): DeliveryStore {
  return {
    list: (states, limit) => database.query<DeliveryLine>(listDeliveries, [states.join(','), limit]),
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
