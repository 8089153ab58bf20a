/* The table of status codes, made from spec/errors.def in ascending order. */
#ifndef DRAGOMAN_API_STATUS_H
#define DRAGOMAN_API_STATUS_H

extern const struct api_status api_statuses[];
extern const unsigned api_status_count;

#endif
