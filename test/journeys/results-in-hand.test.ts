// Results that are in hand while the database answers nothing; the other ways it goes away are in the longer file beside this one.
import { describeResultsInHand } from './results-in-hand.ts'

describeResultsInHand(['freeze'])
