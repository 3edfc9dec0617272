// What a transcript's line is merged with when what it said is gone: its row and its number stay.
export const emptyLine = `'{"type":"text","content":"","payload":{},"metadata":{"deleted":true}}'`
