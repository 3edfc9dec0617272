// `parley books`: the ledger: what came in and what became of it, per connection.
import type { BooksLine } from '../db/receipts.ts'
import { operatorCommand } from './operator.ts'
import { formatTable } from './output.ts'

export const statsCommand = operatorCommand({
  name: 'books',
  description: 'Show per connection: received = answered + merged + refused + dead + in flight.',
  examples: ['parley books', "parley books --json | jq '.books[] | select(.dead > 0)'"],
  args: {},
  async run({ callGateway, show }) {
    const { books } = await callGateway<{ books: readonly BooksLine[] }>('GET', '/admin/books')
    const lines = formatTable(books, [
      { title: 'CONNECTION', cell: (line) => line.connection },
      { title: 'RECEIVED', cell: (line) => line.received },
      { title: 'ANSWERED', cell: (line) => line.answered },
      { title: 'MERGED', cell: (line) => line.merged },
      { title: 'REFUSED', cell: (line) => line.refused },
      { title: 'DEAD', cell: (line) => line.dead },
      { title: 'IN FLIGHT', cell: (line) => line.inFlight },
      { title: 'IGNORED', cell: (line) => line.ignored },
      { title: 'DUPLICATES', cell: (line) => line.duplicates },
      { title: 'BALANCE', cell: (line) => (isBalanced(line) ? 'ok' : 'BROKEN') },
    ])
    show({ books }, books.length === 0 ? 'Nothing has been received yet.' : lines)
  },
})

function isBalanced({ received, answered, merged, refused, dead, inFlight }: BooksLine): boolean {
  return received === answered + merged + refused + dead + inFlight
}
