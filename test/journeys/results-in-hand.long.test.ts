// Results that are in hand while connections to the database break, or its answers are lost.
import { describeResultsInHand } from './results-in-hand.ts'

describeResultsInHand(['cut', 'deafen'])
