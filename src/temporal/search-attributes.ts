import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import { searchAttributes } from './contracts/search-attributes.ts';

const organization = defineSearchAttributeKey(searchAttributes.organization, SearchAttributeType.KEYWORD);
const resource = defineSearchAttributeKey(searchAttributes.resource, SearchAttributeType.KEYWORD);

/** Operators use these to find the workflows of an organization or of one of its resources. */
export const attributesOf = (organizationId: string, resourceId: string) => [
  { key: organization, value: organizationId },
  { key: resource, value: resourceId },
];
